//! The byte stream of a connection, plain or inside TLS. It never blocks.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;

use mio::net::TcpStream;
use rustls::ClientConnection;

use crate::tls::Tls;

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<Secured>),
}

pub(crate) struct Secured {
    tls: ClientConnection,
    tcp: TcpStream,
}

impl Stream {
    /// Creates the stream of a connection that is being established.
    pub(crate) fn new(tcp: TcpStream, tls: Option<&Tls>) -> Result<Self, String> {
        Ok(match tls {
            None => Stream::Plain(tcp),
            Some(tls) => Stream::Tls(Box::new(Secured { tls: tls.begin()?, tcp })),
        })
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(secured) => &secured.tcp,
        }
    }

    pub(crate) fn tcp_mut(&mut self) -> &mut TcpStream {
        match self {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(secured) => &mut secured.tcp,
        }
    }

    /// Returns `true` for TLS: there can be more to read after a short read, and room to write that the
    /// system does not report.
    pub(crate) fn is_layered(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(tcp) => tcp.read(buffer),
            Stream::Tls(secured) => secured.read(buffer),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(tcp) => tcp.write(bytes),
            Stream::Tls(secured) => secured.write(bytes),
        }
    }

    /// Writes the bytes that TLS has buffered, if any.
    pub(crate) fn push(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(secured) => secured.push(),
        }
    }

    /// Ends the tester's side of the stream.
    pub(crate) fn finish(&mut self) {
        if let Stream::Tls(secured) = self {
            secured.tls.send_close_notify();
            let _ = secured.push();
        }
        let _ = self.tcp().shutdown(Shutdown::Write);
    }
}

impl Secured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // An end without close_notify is an error here, and recorded as a broken connection.
                other => return other,
            }
            self.tls.read_tls(&mut self.tcp)?;
            let taken = self.tls.process_new_packets();
            // The next message of the handshake, or the alert that says why there is none.
            match self.push() {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
            taken.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push()?;
        let count = self.tls.writer().write(bytes)?;
        match self.push() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        // TLS has no room for data while the handshake lasts.
        if count == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn push(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.tcp) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
