// Never run: compile.test.ts checks what compiles here and what does not.
import { createPool } from 'prefork'
import { Runtime, type RuntimeOptions } from 'prefork/runtime'

/** Use of the runtime by a broker: with a pool of any tasks. */
export const runtimes = async (): Promise<Runtime[]> => {
  const tasks = new URL('./example-tasks.js', import.meta.url)
  const options: RuntimeOptions = { node: 'a', report: ({ type }) => console.log(type), heard: () => false }
  const typed = await createPool<typeof import('./example-tasks.js')>({ tasks })
  const untyped = await createPool({ tasks })
  // @ts-expect-error: no pool
  new Runtime({}, options)
  return [new Runtime(typed, options), new Runtime(untyped, options)]
}
