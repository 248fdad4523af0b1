"""The same job for three proxies, each in its own words.

Four instances, the one with the least in flight first; kept connections to them; an access log, buffered; X-Forwarded-*
and X-Request-Start; nothing is retried or checked. What differs: headroom has a service level class, a rate class
under a policy, and metrics by route; nginx and HAProxy know no service levels. Calm, headroom's policy is watched and
does not apply, and the others have no limit at all, which favours them. Engaged, each lets pass `limit` requests a
second, in bursts of up to `burst`, and answers the rest itself with 503: headroom through its policy, nginx by
limit_req, HAProxy by a counter of what it let pass in a stick table (over its last second, so its burst is the limit).

HAProxy cannot write files: its log goes into a ring in memory, from which it is sent in batches over TCP to a receiver.
That is its cheapest way; a datagram for each line costs it a third more.
"""

INSTANCES = """
worker_processes 1;
worker_rlimit_nofile 16384;
daemon off;
master_process off;
pid {dir}/instances.pid;
error_log {dir}/instances.error;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    server {{
        {listen}
        default_type text/plain;
        location /limited {{ return 200 "{small}"; }}
        location = /small {{ return 200 "{small}"; }}
        location = /large {{ alias {dir}/large; }}
        open_file_cache max=16;
    }}
}}
"""

NGINX = """
worker_processes 1;
worker_rlimit_nofile 16384;
daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log {dir}/nginx.error crit;
events {{ worker_connections 8192; }}
http {{
    access_log {dir}/nginx.log combined buffer=64k flush=1s;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_body_temp_path {dir}/body2;
    proxy_temp_path {dir}/proxy2;
    fastcgi_temp_path {dir}/fastcgi2;
    uwsgi_temp_path {dir}/uwsgi2;
    scgi_temp_path {dir}/scgi2;
    {zone}
    upstream instances {{
        least_conn;
        {servers}
        keepalive 1024;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            {limit}
            proxy_pass http://instances;
            proxy_http_version 1.1;
            proxy_next_upstream off;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto http;
            proxy_set_header X-Request-Start "t=${{msec}}";
        }}
    }}
}}
"""

NGINX_ZONE = "limit_req_zone $server_port zone=limit:64k rate={limit}r/s;"
NGINX_LIMIT = "limit_req zone=limit burst={burst} nodelay; limit_req_status 503; limit_req_log_level info;"

HAPROXY = """
global
    nbthread 1
    maxconn 4096
    log ring@lines local0
defaults
    mode http
    log global
    option httplog
    option forwardfor
    retries 0
    timeout connect 1s
    timeout client 60s
    timeout server 60s
    timeout http-request 10s
    timeout http-keep-alive 60s
ring lines
    format rfc3164
    maxlen 1200
    size 1048576
    timeout connect 1s
    timeout server 60s
    server receiver 127.0.0.1:{receiver}
frontend clients
    bind 127.0.0.1:{port} backlog 4096
    {limit}
    http-request set-header X-Forwarded-Proto http
    http-request set-header X-Request-Start "t=%[date(0,us)]"
    default_backend instances
backend instances
    http-reuse always
    balance leastconn
    {servers}
"""

HAPROXY_LIMIT = """
    stick-table type integer size 1 expire 60s store gpc0,gpc0_rate(1s)
    http-request track-sc0 int(1)
    http-request deny deny_status 503 if {{ sc0_gpc0_rate ge {limit} }}
    http-request sc-inc-gpc0(0)
"""

# Where nothing is in time, the policy applies as long as there is load.
HEADROOM = """
listen: 127.0.0.1:{port}
admin: 127.0.0.1:{admin}
workers: 1
access_log: headroom.log
limits: {{ connections: 4096 }}
pools:
  instances: {{ instances: [{instances}], balance: least_outstanding, idle_connections: 1024 }}
service_levels:
  in time: {{ target: {target}, window: 60s }}
rate_classes:
  limit: {{ rate: {limit}/s, burst: {burst} }}
policies:
  protect: {{ service_level: in time, enter_below: {enter_below}, min_samples: 100, rate_class: limit }}
routes:
  - {{ name: all, path_prefix: /, pool: instances, policy: protect }}
"""


def headroom(site, port, limit):
    values = {"target": "1us", "enter_below": "100%"} if limit else {"target": "5s", "enter_below": "1%"}
    limit = limit or {"limit": 100, "burst": 1}
    instances = ", ".join(f'"127.0.0.1:{instance}"' for instance in site.instances)
    return site.gateway(HEADROOM, port, instances=instances, **values, **limit)


def nginx(site, port, limit):
    servers = "\n        ".join(f"server 127.0.0.1:{instance} max_fails=0;" for instance in site.instances)
    zone, within = (words.format(**limit) if limit else "" for words in (NGINX_ZONE, NGINX_LIMIT))
    config = site.write("nginx.conf", NGINX, dir=site.directory, port=port, servers=servers, zone=zone, limit=within)
    return ["nginx", "-p", site.directory, "-c", config]


def haproxy(site, port, limit):
    servers = "\n    ".join(f"server s{instance} 127.0.0.1:{instance} pool-max-conn 1024" for instance in site.instances)
    words = HAPROXY_LIMIT.format(**limit) if limit else ""
    config = site.write("haproxy.cfg", HAPROXY, port=port, receiver=site.receiver(), servers=servers, limit=words)
    return ["haproxy", "-db", "-f", config]


# What starts each of them: given the site, a port and a limit (or none), its command.
PROXIES = {"headroom": headroom, "nginx": nginx, "haproxy": haproxy}
