/** The esbuild options of src/cli and src/dashboard, for the build and for the list of licenses. */
export const commandLine = {
  entryPoints: { prefork: 'src/cli/prefork.ts' },
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  jsx: 'automatic',
  // The development build of React is twice as large, and slower.
  define: { 'process.env.NODE_ENV': '"production"' },
  minifySyntax: true,
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
  plugins: [
    {
      name: 'prefork/amqp as an external package',
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
