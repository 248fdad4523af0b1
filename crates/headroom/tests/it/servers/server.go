// Package main answers by HTTP/1.1 on one address, and by TLS with HTTP/2 on another:
// server ADDRESS TLSADDRESS CERTIFICATE KEY.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" && r.URL.Path != "/"+r.Proto {
		w.WriteHeader(http.StatusHTTPVersionNotSupported)
	}
	io.WriteString(w, "ok\n")
}

func main() {
	handler := http.HandlerFunc(answer)
	go func() { log.Fatal(http.ListenAndServeTLS(os.Args[2], os.Args[3], os.Args[4], handler)) }()
	log.Fatal(http.ListenAndServe(os.Args[1], handler))
}
