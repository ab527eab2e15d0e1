// The page docs/benchmarks.md: what is between the marks is written here, the rest is written by hand and stays.

export const BEGIN = '<!-- begin: written by npm run bench -- --write -->'
export const END = '<!-- end: written by npm run bench -- --write -->'

/**
 * @param {string} page
 * @param {string} text
 */
export const replacePart = (page, text) => {
  const from = page.indexOf(BEGIN)
  const to = page.indexOf(END)
  if (from === -1 || to < from) throw new Error(`the page has not the two lines\n${BEGIN}\n${END}`)
  return `${page.slice(0, from + BEGIN.length)}\n\n${text}\n\n${page.slice(to)}`
}
