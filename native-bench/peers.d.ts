/** The peers are not installed when types are checked. */
declare module 'jest-worker'
declare module 'piscina'
declare module 'poolifier'
declare module 'tinypool'
declare module 'workerpool'
