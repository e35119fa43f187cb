/** The pages of the repository: their links, the form of decision records, and the length of READMEs. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

const PAGES = ['README.md', ...globSync('{.github,bin,lambdas,lib,search-mappings,test}/**/*.md').toSorted()]
const RECORDS = PAGES.filter((page) => /^lambdas\/decisions\/\d/.test(page))
const README_FOLDERS = ['bin', 'lambdas', 'lib', 'search-mappings']
const HEADINGS = ['Status', 'Context', 'Decision', 'Alternatives', 'Consequences', 'Checked by']

const textOf = (page: string): string => readFileSync(page, 'utf8')

/** Returns the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\w -]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (page: string): readonly string[] => [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!))

it.each(PAGES)('%s links to existing files and headings', (page) => {
  const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
  const dead = links.filter(([, path, anchor]) => {
    const target = path === '' ? page : join(dirname(page), path!)
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor))
  })
  expect(dead.map(([link]) => link)).toEqual([])
})

describe('The decision record', () => {
  it.each(RECORDS)('%s has six headings and at most 40 lines', (page) => {
    const text = textOf(page)
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual(HEADINGS)
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(40)
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(170)
  })

  it.each(RECORDS)('%s has the number of its title, and names existing files', (page) => {
    const text = textOf(page)
    expect(text).toMatch(new RegExp(`^# ${Number(basename(page).slice(0, 4))}\\. `))
    const files = [...text.matchAll(/`((?:bin|lambdas|lib|search-mappings|test)\/[^`]+)`/g)].map(([, path]) => path!)
    expect(files.filter((path) => !existsSync(path))).toEqual([])
    expect(text.split('## Checked by')[1]).toContain('test/')
  })

  it('is in the table of records, once each', () => {
    const listed = [...textOf('lambdas/decisions/README.md').matchAll(/\]\((\d[^)]*)\)/g)].map(([, path]) => `lambdas/decisions/${path}`)
    expect(listed.toSorted()).toEqual(RECORDS)
  })
})

it.each(README_FOLDERS.flatMap((folder) => globSync(`${folder}/**/README.md`)))('%s has at most 500 words', (page) =>
  expect(textOf(page).trim().split(/\s+/).length).toBeLessThanOrEqual(500),
)

it('The page of dependencies lists every package of package.json, once each', () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(textOf('package.json'))
  const listed = [...textOf('lambdas/docs/dependencies.md').matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name)
  expect(listed.toSorted()).toEqual(Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies }).toSorted())
})
