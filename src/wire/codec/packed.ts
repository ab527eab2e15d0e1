/** Content by msgpackr. What comes in is a snapshot that has been found exact: see snapshot.ts. */
import { addExtension, Packr, RESET_BUFFER_MODE, Unpackr } from 'msgpackr/pack'
import { Carrier } from './carrier.js'
import type { Received } from './received.js'

const EXT_BINARY = 1
const EXT_DATE = 2

/** The binaries of the value that is being decoded. */
let received: Received | undefined

addExtension({
  Class: Carrier,
  type: EXT_BINARY,
  write: ({ kind, index, offset, elements }: Carrier) => [kind, index, offset, elements],
  read: (reference: unknown) => {
    if (received === undefined || !Array.isArray(reference)) throw new Error('a binary without a table')
    const [kind, index, offset, length] = reference as number[]
    return received.view(kind!, index!, offset!, length!)
  },
})
// msgpackr's own timestamps lose what does not fit a nanosecond count; a float of milliseconds is what a Date is.
addExtension({
  Class: Date,
  type: EXT_DATE,
  write: (date: Date) => date.getTime(),
  read: (time: unknown) => new Date(typeof time === 'number' ? time : Number.NaN),
})

// Maps rather than records: a record pays only from the second object of one shape on, and costs more for the first.
const options = { useRecords: false, mapsAsObjects: true, variableMapSize: true, moreTypes: false, useToJSON: false, copyBuffers: true }
let packr = new Packr(options as ConstructorParameters<typeof Packr>[0])
const unpackr = new Unpackr(options as ConstructorParameters<typeof Unpackr>[0])

/** Where values are packed before they are copied out: reused, so that no encoded body pins more than its own bytes. */
const SCRATCH = 65_536
const KEEP = 1_048_576
let scratch: Buffer | undefined

const start = (): Packr => {
  scratch ??= Buffer.allocUnsafeSlow(SCRATCH)
  packr.useBuffer(scratch)
  return packr
}

/** The packed bytes: valid until the next call. */
export const pack = (snapshot: unknown): Buffer => {
  try {
    const bytes = (scratch === undefined ? start() : packr).pack(snapshot, RESET_BUFFER_MODE)
    // A large value has made msgpackr's buffer grow: let it go.
    if (bytes.buffer.byteLength > KEEP) packr.useBuffer(scratch!)
    return bytes
  } catch (error) {
    packr = new Packr(options as ConstructorParameters<typeof Packr>[0])
    packr.useBuffer(scratch!)
    throw error
  }
}

export const unpack = (bytes: Buffer, start: number, end: number, blobs: Received | undefined): unknown => {
  received = blobs
  try {
    return unpackr.unpack(bytes, { start, end })
  } finally {
    received = undefined
  }
}
