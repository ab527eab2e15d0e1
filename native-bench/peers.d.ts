/** The peers are not installed when types are checked. */
declare module 'bullmq'
declare module 'faktory-worker'
declare module 'graphile-worker'
declare module 'jest-worker'
declare module 'pg'
declare module 'pg-boss'
declare module 'piscina'
declare module 'poolifier'
declare module 'tinypool'
declare module 'workerpool'
/** The types of Node 20 do not know it. */
declare module 'node:sqlite'
