/** The build of msgpackr that compiles no functions. The package declares no types for it; here is what is used. */
declare module 'msgpackr/index-no-eval' {
  interface Options {
    useRecords: false
    mapsAsObjects?: boolean
    /** `auto`: numbers up to 2^53, BigInts beyond. */
    int64AsType?: 'auto'
    copyBuffers?: boolean
    variableMapSize?: boolean
    useToJSON?: boolean
  }
  interface Extension {
    type: number
    Class?: new (...values: never[]) => object
    /** Writes the whole value, with its type. */
    pack?: (value: object, allocate: (size: number) => { target: Buffer; position: number }) => void
    unpack?: (payload: Buffer) => unknown
    /** Takes the value behind the three bytes of an extension of one byte. */
    read?: (value: unknown) => unknown
  }
  class Packr {
    constructor(options: Options)
    /** Returns a part of the buffer in use. */
    pack(value: unknown): Buffer
    useBuffer(buffer: Buffer): void
  }
  class Unpackr {
    constructor(options: Options)
    unpack(bytes: Buffer): unknown
  }
  const msgpackr: { Packr: typeof Packr; Unpackr: typeof Unpackr; addExtension: (extension: Extension) => void }
  export default msgpackr
}
