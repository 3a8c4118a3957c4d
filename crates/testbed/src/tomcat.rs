//! A Tomcat of one's own: its `WebdavServlet` over a temporary folder, on a free port of this machine.
//!
//! The servlet may write; everything else has Tomcat's own defaults, among them entity tags marked as weak and a cache of what
//! the folder contains. The bound on requests per connection and the time it keeps an idle one are raised.

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
            // Without this it leaves a file outside its folder.
            "-XX:-UsePerfData".to_owned(),
            "-Xmx256m".to_owned(),
            format!("-Djava.io.tmpdir={dir}/tmp"),
            "-Dcatalina.home=/usr/share/tomcat10".to_owned(),
            format!("-Dcatalina.base={dir}"),
            // It would go on without a port that is taken.
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

/// A running Tomcat; dropped, it is stopped and its folder removed.
#[derive(Debug)]
pub struct Tomcat(Life);

impl Tomcat {
    /// Starts one, and waits until it answers.
    pub fn start() -> Result<Self, ServerError> {
        Life::begin_planned(&TOMCAT, &plan).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }
}

fn plan(dir: &Path, address: SocketAddr) -> Plan {
    let files = vec![("config", server(dir, address)), ("web.xml", WEB.to_owned())];
    Plan { files, arguments: Vec::new() }
}

/// One connector and one application, which is the folder. There is no port for shutdown.
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

/// The servlet that serves every path, and that may write.
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
