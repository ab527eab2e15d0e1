/** The tasks of every pool: the same functions, whatever loads them. */
export const noop = () => {}
export const echo = (value) => value
export default noop
