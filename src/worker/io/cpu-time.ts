/** CPU time that this process has used so far, user and system, all threads, ms (getrusage(2)). Processes that a task started are not included. */
export const cpuTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
