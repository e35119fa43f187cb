/** SPDX licence expressions. https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/ */

/** Whether one who accepts no licence but `allowed` may use what is under it: all of AND, one of OR. False for what is no expression. */
export function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const words = expression.match(/[()]|[^\s()]+/g) ?? []
  let at = 0
  const either = (): boolean => {
    const all = [both()]
    while (words[at] === 'OR') all.push(next(both))
    return all.includes(true)
  }
  const both = (): boolean => {
    const all = [single()]
    while (words[at] === 'AND') all.push(next(single))
    return !all.includes(false)
  }
  const single = (): boolean => {
    if (words[at] !== '(') return licence()
    const inner = next(either)
    return words[at++] === ')' && inner
  }
  const licence = (): boolean => {
    const name = words[at++] ?? ''
    // An exception takes duties away, and adds none.
    if (words[at] === 'WITH') at += 2
    return allowed.has(name.replace(/\+$/, ''))
  }
  const next = (part: () => boolean): boolean => {
    at++
    return part()
  }
  return either() && at === words.length
}
