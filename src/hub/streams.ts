/** What the hub needs of a stream: `net.Socket` has it, and so have the simulation's pipes. */

export interface HubReadable {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  destroy(): unknown
}

export interface HubWritable {
  write(bytes: Uint8Array): boolean
  cork(): void
  uncork(): void
  /** Bytes taken by `write` that are not yet in the kernel. */
  readonly writableLength: number
  on(event: 'drain' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  destroy(): unknown
}
