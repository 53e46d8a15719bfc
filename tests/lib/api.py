"""Stands in for the API of Kubernetes: takes a PATCH of a node as the API would, and appends it to a log.

api.py PORT-FILE CERTIFICATE TOKEN LOG
"""
import http.server
import json
import re
import ssl
import sys

port_file, certificate, token, log = sys.argv[1:]
TYPES = {"/status": "application/strategic-merge-patch+json", "": "application/merge-patch+json"}


class Api(http.server.BaseHTTPRequestHandler):
    def refuse(self, code, why):
        with open(log, "a", encoding="utf-8") as out:
            print("refused:", why, file=out)
        self.send_error(code, why)

    def do_PATCH(self):
        at = re.fullmatch(r"/api/v1/nodes/gpu-17(/status)?", self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not at:
            return self.refuse(404, self.path)
        if self.headers["Authorization"] != "Bearer " + token:
            return self.refuse(401, "token")
        if self.headers["Content-Type"] != TYPES[at[1] or ""]:
            return self.refuse(415, str(self.headers["Content-Type"]))
        try:
            patch = json.loads(body)
        except ValueError as error:
            return self.refuse(400, str(error))
        with open(log, "a", encoding="utf-8") as out:
            print(json.dumps(patch), file=out)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        return self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Api)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port_file, "w", encoding="utf-8") as file:
    print(server.server_port, file=file)
server.serve_forever()
