//! Private Tomcat: its `WebdavServlet` over a temporary directory, on a free port of the loopback interface.
//!
//! The servlet may write; everything else has Tomcat's defaults, among them entity tags marked as weak and a cache of
//! the directory's contents. The limit on requests per connection and the idle timeout are raised.

use std::net::SocketAddr;
use std::path::Path;

use crate::life::{Life, Plan, Recipe, ServerError};

const TOMCAT: Recipe<'static> = Recipe {
    name: "tomcat",
    packages: "tomcat10-common default-jre-headless",
    program: "java",
    module: "/usr/share/tomcat10/bin/bootstrap.jar",
    arguments: |dir| {
        let dir = dir.display();
        vec![
            // Without this option Java leaves a file outside the directory.
            "-XX:-UsePerfData".to_owned(),
            "-Xmx256m".to_owned(),
            format!("-Djava.io.tmpdir={dir}/tmp"),
            "-Dcatalina.home=/usr/share/tomcat10".to_owned(),
            format!("-Dcatalina.base={dir}"),
            // Without this option Tomcat would continue even if its port is taken.
            "-Dorg.apache.catalina.startup.EXIT_ON_INIT_FAILURE=true".to_owned(),
            "-cp".to_owned(),
            "/usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar".to_owned(),
            "org.apache.catalina.startup.Bootstrap".to_owned(),
            "-config".to_owned(),
            format!("{dir}/config"),
            "start".to_owned(),
        ]
    },
    forks: false,
    serves: true,
};

/// A running Tomcat. Dropping it stops the server and removes its directory.
#[derive(Debug)]
pub struct Tomcat(Life);

impl Tomcat {
    /// Starts a Tomcat and waits until it responds.
    pub fn start() -> Result<Self, ServerError> {
        Life::begin_planned(&TOMCAT, &plan).map(Self)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

fn plan(dir: &Path, address: SocketAddr) -> Plan {
    let files = vec![("config", server(dir, address)), ("web.xml", WEB.to_owned())];
    Plan { files, arguments: Vec::new() }
}

/// Returns `server.xml`: one connector and one application, which is the directory. There is no shutdown port.
fn server(dir: &Path, address: SocketAddr) -> String {
    let (dir, host, port) = (dir.display(), address.ip(), address.port());
    format!(
        r#"<Server port="-1">
  <Service name="Catalina">
    <Connector address="{host}" port="{port}" maxKeepAliveRequests="-1" keepAliveTimeout="3600000"/>
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="{dir}/tmp" autoDeploy="false" deployOnStartup="false">
        <Context path="" docBase="{dir}/root" defaultWebXml="{dir}/web.xml"/>
      </Host>
    </Engine>
  </Service>
</Server>
"#
    )
}

/// `web.xml`: one servlet, which serves every path and may write.
const WEB: &str = r#"<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">
  <servlet>
    <servlet-name>webdav</servlet-name>
    <servlet-class>org.apache.catalina.servlets.WebdavServlet</servlet-class>
    <init-param>
      <param-name>readonly</param-name>
      <param-value>false</param-value>
    </init-param>
    <load-on-startup>1</load-on-startup>
  </servlet>
  <servlet-mapping>
    <servlet-name>webdav</servlet-name>
    <url-pattern>/*</url-pattern>
  </servlet-mapping>
</web-app>
"#;
