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
      name: 'the libraries of brokers as external packages',
      setup({ onResolve }) {
        for (const name of ['amqp', 'faktory', 'queue']) {
          onResolve({ filter: new RegExp(`/${name}/index\\.js$`) }, () => ({ path: `prefork/${name}`, external: true }))
        }
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
