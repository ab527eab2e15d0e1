/** What esbuild makes of src/cli and src/dashboard, for the build and for the list of licenses. */
export const commandLine = {
  entryPoints: { prefork: 'src/cli/prefork.ts' },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  jsx: 'automatic',
  // React is twice as large, and slower, when it watches for mistakes.
  define: { 'process.env.NODE_ENV': '"production"' },
  minifySyntax: true,
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
  plugins: [
    {
      name: 'the library stays outside',
      setup({ onResolve }) {
        onResolve({ filter: /\/amqp\/index\.js$/ }, () => ({ path: 'prefork/amqp', external: true }))
      },
    },
    {
      name: "without Ink's developer tools",
      setup({ onLoad }) {
        onLoad({ filter: /\/ink\/build\/devtools\.js$/ }, () => ({ contents: '' }))
      },
    },
  ],
}
