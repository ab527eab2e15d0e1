/** A URL that may be shown: its password is replaced by `***`. What is no URL is not shown at all. */
export const withoutPassword = (url: string): string => {
  try {
    const shown = new URL(url)
    if (shown.password !== '') shown.password = '***'
    return shown.href
  } catch {
    return 'the URL given'
  }
}
