/** Of `process.stderr`: writes that it has not yet called back. */
let pending = 0

const nobodyReads = (): void => {}

/**
 * Passes on what workers print. Whoever reads the host's stderr may be gone (a closed pager, a restarted log collector): a host
 * that prints nothing itself must not end by that, as it would by an 'error' that nobody listens to.
 */
export const printToHost = (chunk: Buffer): void => {
  const { stderr } = process
  if (pending++ === 0) stderr.on('error', nobodyReads)
  stderr.write(chunk, () => {
    // The event comes after the callback.
    setImmediate(() => {
      if (--pending === 0) stderr.off('error', nobodyReads)
    })
  })
}
