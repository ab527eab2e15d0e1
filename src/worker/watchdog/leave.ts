/**
 * Ends this worker at once, from any thread and whatever the main thread is doing; with `tree` also what its tasks have
 * spawned (the worker leads its own process group).
 */
export const leave = (tree: boolean): void => {
  if (tree) {
    try {
      process.kill(-process.pid, 'SIGKILL')
      return
    } catch {
      // Not a group's leader, e.g. started by hand.
    }
  }
  process.kill(process.pid, 'SIGKILL')
}
