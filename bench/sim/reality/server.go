// The work of app.py in Go. POOL bounds the requests that wait at once; without it there is no bound.
package main

import (
	"math/rand"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

func milliseconds(name string) time.Duration {
	value, err := strconv.ParseFloat(os.Getenv(name), 64)
	if err != nil {
		panic(err)
	}
	return time.Duration(value * float64(time.Millisecond))
}

// The thread's clock: getrusage(2) has its time only up to the last tick of the scheduler.
func used() time.Duration {
	const threadClock = 3
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}

func spin(length time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for begin := used(); used()-begin < length; {
	}
}

func main() {
	cpu, wait := milliseconds("CPU_MS"), milliseconds("WAIT_MS")
	var pool chan struct{}
	if places, err := strconv.Atoi(os.Getenv("POOL")); err == nil && places > 0 {
		pool = make(chan struct{}, places)
	}
	http.HandleFunc("/", func(response http.ResponseWriter, _ *http.Request) {
		spin(cpu / 2)
		if pool != nil {
			pool <- struct{}{}
		}
		time.Sleep(time.Duration(rand.ExpFloat64() * float64(wait)))
		if pool != nil {
			<-pool
		}
		spin(cpu / 2)
		response.Write([]byte("ok\n"))
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil); err != nil {
		panic(err)
	}
}
