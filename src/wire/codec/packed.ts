/** Content by msgpackr. What comes in is a snapshot that has been found exact: see snapshot.ts. */
import { addExtension, Packr, RESET_BUFFER_MODE, Unpackr } from 'msgpackr/pack'
import { flat, mapOf, SentMap, SentSet } from './collections.js'
import type { Received } from './received.js'
import { KIND_BUFFER, type References } from './reference.js'

const EXT_BINARY = 1
const EXT_DATE = 2
const EXT_MAP = 3
const EXT_SET = 4

/** What the views of the value that is being encoded refer to. */
let references: References | undefined
/** The binaries of the value that is being decoded. */
let received: Received | undefined

const writeView = (view: object): unknown => {
  const to = references?.get(view)
  if (to === undefined) throw new Error('a view without a reference')
  // A Buffer that is all of its blob says so by its length: the reader takes what there is.
  return to.kind === KIND_BUFFER && to.offset === 0 && to.whole ? to.index : [to.kind, to.index, to.offset, to.elements]
}
const readView = (to: unknown): unknown => {
  if (received === undefined) throw new Error('a binary without a table')
  if (typeof to === 'number') return received.buffer(to)
  if (!Array.isArray(to)) throw new Error('a damaged reference to a binary')
  const [kind, index, offset, length] = to as number[]
  return received.view(kind!, index!, offset!, length!)
}
const TypedArray = Object.getPrototypeOf(Uint8Array) as typeof Uint8Array
addExtension({ Class: DataView as unknown as typeof Uint8Array, type: EXT_BINARY, write: writeView, read: readView })
addExtension({ Class: TypedArray, type: EXT_BINARY, write: writeView, read: readView })
addExtension({ Class: SentMap, type: EXT_MAP, write: flat, read: mapOf })
addExtension({
  Class: SentSet,
  type: EXT_SET,
  write: (set: Set<unknown>) => [...set],
  read: (list: unknown) => new Set(Array.isArray(list) ? (list as unknown[]) : []),
})
// msgpackr's own timestamps lose what does not fit a nanosecond count; a float of milliseconds is what a Date is.
addExtension({
  Class: Date,
  type: EXT_DATE,
  write: (date: Date) => date.getTime(),
  read: (time: unknown) => new Date(typeof time === 'number' ? time : Number.NaN),
})

// Extensions of msgpackr's own that no packer of ours writes: references that assign to what they find, errors by a name that
// was received, patterns, texts to be cut. Bytes that hold one were not written by us.
const refuse = (): never => {
  throw new Error('an extension that is not used')
}
for (const type of [0x42, 0x62, 0x65, 0x69, 0x70, 0x73, 0x74, 0x78, 0xff]) {
  addExtension({ type, unpack: refuse } as unknown as Parameters<typeof addExtension>[0])
}

// Both write what the one reader reads. Records name the keys of a shape once in each message, which halves the time and
// the bytes of many objects of one shape, and costs more for one: see Snapshot.rows.
const options = { mapsAsObjects: true, variableMapSize: true, moreTypes: false, useToJSON: false, copyBuffers: true }
type PackrOptions = ConstructorParameters<typeof Packr>[0]
const makeMaps = (): Packr => new Packr({ ...options, useRecords: false } as PackrOptions)
const makeRecords = (): Packr => new Packr({ ...options, useRecords: true } as PackrOptions)
let maps = makeMaps()
let records: Packr | undefined
const unpackr = new Unpackr({ ...options, useRecords: false } as PackrOptions)
// What MessagePack's word "never used" is read as: one object for everybody.
Object.freeze(unpackr.unpack(Buffer.from([0xc1])))

/** Where values are packed before they are copied out: reused, so that no encoded body pins more than its own bytes. */
const SCRATCH = 65_536
const KEEP = 1_048_576
let scratch: Buffer | undefined

/** The packed bytes: valid until the next call. */
export const pack = (snapshot: unknown, rows: boolean, to: References | undefined): Buffer => {
  if (scratch === undefined) {
    scratch = Buffer.allocUnsafeSlow(SCRATCH)
    // Whichever packer it is told to: they share it.
    maps.useBuffer(scratch)
  }
  references = to
  try {
    if (rows) records ??= makeRecords()
    const bytes = (rows ? records! : maps).pack(snapshot, RESET_BUFFER_MODE)
    // A large value has made msgpackr's buffer grow: let it go.
    if (bytes.buffer.byteLength > KEEP) maps.useBuffer(scratch)
    return bytes
  } catch (error) {
    maps = makeMaps()
    records = undefined
    maps.useBuffer(scratch)
    throw error
  } finally {
    references = undefined
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
