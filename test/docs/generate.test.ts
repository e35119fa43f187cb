/** The generated pages equal those that are committed. `npm run docs` writes them. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { ROUTES } from '../../lambdas/catalogue/catalogue.ts'
import { generatePages } from '../../lambdas/docs/generate.ts'
import { SETTINGS, variableOf } from '../../lambdas/runtime/config.ts'
import { generatePages as generateOperatorPages } from '../../lib/docs/generate.ts'

const pages = new Map([...generatePages(), ...generateOperatorPages()])

describe('The generated pages', () => {
  it.each([...pages.keys()])('equal the committed ones: %s', (path) => expect(readFileSync(path, 'utf8')).toBe(pages.get(path)))

  it('list every setting with a meaning, and no other', () => {
    const rows = [...pages.get('lambdas/docs/settings.md')!.matchAll(/^\| `(FHIR_\w+)` \| .* \| (.*) \|$/gm)]
    expect(rows.map(([, variable]) => variable)).toEqual(SETTINGS.map(({ name }) => variableOf(name)))
    expect(rows.filter(([, , meaning]) => meaning === '')).toEqual([])
  })

  it('list every request of an operation, with a definition', () => {
    const page = pages.get('lambdas/docs/operations.md')!
    for (const { method, path } of ROUTES.filter(({ path }) => path.includes('$'))) expect(page).toContain(`\`${method} ${path}\``)
    const definitions = [...page.matchAll(/^\| `\$.* \| (.*) \|$/gm)].map(([, definition]) => definition)
    expect(definitions.filter((definition) => definition === '')).toEqual([])
  })
})
