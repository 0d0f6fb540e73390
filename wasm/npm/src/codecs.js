// How the items of codecs go into the module's memory, and come out of it. To what shared/codecs.js says of a codec this adds:
//
//   write(core, offset, item, what)    writes it into the input buffer: its length
//   keep(bytes, at, length, what)      the item that these bytes are, as a copy
//   read(bytes, at, length, what)      what they are, as the user sees it

import { readText } from './shared/text.js'
import { copyBytes } from './shared/views.js'
import { putBytes, putText } from './text.js'

const keepBytes = (bytes, at, length) => bytes.slice(at, at + length)

/** A codec whose items go in and out. */
export function placed(codec) {
  const { isBytes, show } = codec
  return {
    ...codec,
    write: isBytes ? putBytes : putText,
    keep: isBytes ? keepBytes : readText,
    read: isBytes ? readBytes(show) : readString(codec),
  }
}

/** Copying is quicker done at once. */
const readBytes = (show) =>
  show === copyBytes ? keepBytes : (bytes, at, length) => show(bytes.subarray(at, at + length))

const readString = ({ name, show }) => (name === 'str' ? readText : (...place) => show(readText(...place)))
