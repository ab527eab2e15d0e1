/** The types of typed calls: names, arguments and results of the tasks of a module. */

/** The exported functions of a task module, by name. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of an arbitrary module; `unknown` would refuse modules whose functions take parameters.
export type TaskFunction = (...args: any[]) => unknown
/** The tasks of a pool that was given no type: any name, any arguments. */
export type AnyTasks = Record<string, TaskFunction>

/** Names of the module's exports that are functions. */
export type TaskName<T> = { [K in keyof T]: T[K] extends TaskFunction ? K : never }[keyof T] & string
export type TaskArgs<T, N extends TaskName<T>> = T[N] extends (...args: infer A) => unknown ? Readonly<A> : never
export type TaskResult<T, N extends TaskName<T>> = T[N] extends (...args: never[]) => infer R ? Awaited<R> : never
/** What an async generator task yields. */
export type TaskItem<T, N extends TaskName<T>> = T[N] extends (...args: never[]) => infer R
  ? unknown extends R
    ? unknown
    : R extends AsyncIterable<infer I> | Iterable<infer I>
      ? I
      : Awaited<R> extends AsyncIterable<infer I> | Iterable<infer I>
        ? I
        : never
  : never

/** Names of the tasks that `stream` can call: those whose calls can be iterated over. */
export type StreamName<T> = { [N in TaskName<T>]: [TaskItem<T, N>] extends [never] ? never : N }[TaskName<T>]

/** Names of the tasks that answer with one result: all but generators, which `stream` runs. */
export type RunName<T> = {
  [N in TaskName<T>]: T[N] extends (...args: never[]) => infer R
    ? unknown extends R
      ? N
      : // A function that never returns is no generator, though `never` extends everything.
        [Awaited<R>] extends [never]
        ? N
        : Awaited<R> extends AsyncGenerator<unknown, unknown, never> | Generator<unknown, unknown, never>
          ? never
          : N
    : never
}[TaskName<T>]
