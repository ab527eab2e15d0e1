// Answers each message of the parent process with the CPU time of this one, µs. `prefork work` loads it by `--import`.
if (process.send !== undefined)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
