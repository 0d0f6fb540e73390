// A process that has the file open until its standard input ends.
import { open } from 'twindex'

open(process.argv[2])
process.stdout.write('open\n')
process.stdin.resume()
