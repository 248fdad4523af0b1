"""Runs a command on a pseudo-terminal of its own, does something to it, and says as JSON what came of the command.

arguments: ACTION WAIT_FOR COMMAND...
  hang-up       closes the terminal
  terminate     sends SIGTERM
  end-of-input  closes the terminal that the command reads from; it writes to another
  ...-ignored   the same, with SIGHUP ignored from the beginning as nohup does
The action follows once the command has written WAIT_FOR.
"""
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

action, wait_for, command = sys.argv[1], sys.argv[2].encode(), sys.argv[3:]
ignored = action.endswith("-ignored")
action = action.removesuffix("-ignored")
screen, screen_end = pty.openpty()
keys, keys_end = pty.openpty() if action == "end-of-input" else (screen, screen_end)
fcntl.ioctl(screen_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
before = termios.tcgetattr(screen)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(screen_end, termios.TIOCSCTTY, 0)
    for place, end in enumerate([keys_end, screen_end, screen_end]):
        os.dup2(end, place)
    os.closerange(3, 100)
    signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(command[0], command)
for end in {screen_end, keys_end}:
    os.close(end)
said = b""

def read():
    """What the command writes, as far as it does so soon."""
    global said
    if screen is None:
        return time.sleep(0.02)
    if select.select([screen], [], [], 0.02)[0]:
        try:
            said += os.read(screen, 65536)
        except OSError:
            time.sleep(0.02)

begun = time.monotonic()
while wait_for not in said and time.monotonic() < begun + 30:
    read()
seen = wait_for in said
if action == "hang-up":
    os.close(screen)
    screen = None
elif action == "terminate":
    os.kill(child, signal.SIGTERM)
else:
    os.close(keys)
acted = time.monotonic()
status = None
while status is None and time.monotonic() < acted + 30:
    read()
    found, found_status, usage = os.wait4(child, os.WNOHANG)
    if found:
        status = found_status
ended = status is not None
took = time.monotonic() - acted
if not ended:
    os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
for _ in range(5):
    read()
print(json.dumps({
    "seen": seen,
    "ended": ended,
    "took_s": took,
    "cpu_s": usage.ru_utime + usage.ru_stime,
    "code": os.waitstatus_to_exitcode(status),
    "restored": screen is not None and termios.tcgetattr(screen) == before,
    "said": said.decode(errors="replace"),
}))
