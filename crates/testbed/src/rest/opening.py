# Arguments: the directory of the packages, the directory of the server, the port.
import os
import sys

sys.dont_write_bytecode = True
PACKAGES, DIR, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.path.insert(0, PACKAGES)
with open(DIR + "/pid", "w") as file:
    file.write(str(os.getpid()))

