/** Shows progress: on a terminal in one line that is overwritten, elsewhere in a line each. @param {NodeJS.WriteStream} stream */
export const progressLine = (stream) => {
  const began = performance.now()
  return {
    /** @param {string} text */
    show(text) {
      const seconds = Math.round((performance.now() - began) / 1_000)
      const line = `${seconds} s  ${text}`
      stream.write(stream.isTTY ? `\r\u001b[K${line.slice(0, (stream.columns ?? 80) - 1)}` : `${line}\n`)
    },
    end() {
      if (stream.isTTY) stream.write('\r\u001b[K')
    },
  }
}
