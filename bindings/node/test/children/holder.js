// A process that has the file open until its standard input ends.
import { openSync } from 'twindex'

openSync(process.argv[2])
process.stdout.write('open\n')
process.stdin.resume()
