/** Content by node:v8: everything that is not plain. node:v8 hands views to this delegate as "host objects". */
import type { BlobReader } from './blob-reader.js'
import { emptyError } from './error-classes.js'
import { fillError } from './error-record.js'
import { KIND_ERROR, type References } from './reference.js'
import { checkV8Opcodes } from './v8-opcodes.js'

/** A method of node:v8 that its types leave out. */
interface TreatsViews {
  _setTreatArrayBufferViewsAsHostObjects(yes: boolean): void
}

const makeClasses = () => {
  const { Deserializer, Serializer } = process.getBuiltinModule('node:v8')

  class Writer extends Serializer {
    readonly #references: References | undefined
    readonly _getDataCloneError = Error

    constructor(references: References | undefined) {
      super()
      this.#references = references
      ;(this as unknown as TreatsViews)._setTreatArrayBufferViewsAsHostObjects(true)
    }

    _writeHostObject(object: object): void {
      const to = this.#references?.get(object)
      if (to === undefined) throw new Error('an object that lives in one process only')
      this.writeUint32(to.kind)
      this.writeUint32(to.index)
      this.writeUint32(to.elements)
      if (to.kind !== KIND_ERROR) this.writeDouble(to.offset)
      else for (const text of to.text ?? ['', '']) this.#text(text)
    }

    #text(text: string): void {
      // UTF-16: a message may hold half of a surrogate pair.
      const bytes = Buffer.from(text, 'utf16le')
      this.writeUint32(bytes.length)
      this.writeRawBytes(bytes)
    }
  }

  class Reader extends Deserializer {
    readonly blobs: BlobReader | undefined
    readonly errors = new Map<number, Error>()

    constructor(bytes: Buffer, blobs: BlobReader | undefined) {
      super(bytes)
      this.blobs = blobs
    }

    _readHostObject(): object {
      const kind = this.readUint32()
      const index = this.readUint32()
      const elements = this.readUint32()
      if (kind === KIND_ERROR) {
        const message = this.#text()
        const error = emptyError(elements, [message, this.#text()])
        this.errors.set(index, error)
        return error
      }
      const offset = this.readDouble()
      if (this.blobs === undefined) throw new Error('a binary without a table')
      return this.blobs.view(kind, index, offset, elements)
    }

    #text(): string {
      return (this.readRawBytes(this.readUint32()) as Buffer).toString('utf16le')
    }
  }

  // Both ends are of one build and run in one version of Node: bytes with another header were not written by `write`.
  const first = new Serializer()
  first.writeHeader()
  return { Writer, Reader, header: first.releaseBuffer() as Buffer }
}

/** Made when first needed: loading node:v8 takes a millisecond, and most workers never get such a value. */
let classes: ReturnType<typeof makeClasses> | undefined

/** `head` bytes left free, then the content. */
export const write = (value: unknown, head: number, references: References | undefined): Buffer => {
  classes ??= makeClasses()
  const writer = new classes.Writer(references)
  if (head > 0) writer.writeRawBytes(Buffer.allocUnsafe(head))
  writer.writeHeader()
  writer.writeValue(value)
  return writer.releaseBuffer() as Buffer
}

/** The value that `write` was given. */
export const read = (content: Buffer, blobs: BlobReader | undefined, withErrors: boolean): unknown => {
  classes ??= makeClasses()
  const { header } = classes
  if (!header.equals(content.subarray(0, header.length))) throw new Error('bytes of another version of node:v8')
  checkV8Opcodes(content, header.length)
  const reader = new classes.Reader(content, blobs)
  reader.readHeader()
  const value: unknown = reader.readValue()
  if (!withErrors) return value
  const [root, records] = value as [unknown, unknown[]]
  for (const [index, error] of reader.errors) fillError(error, records[index])
  return root
}
