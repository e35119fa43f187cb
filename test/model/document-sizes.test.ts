/** Sizes of documents in OpenSearch: those of the sample, and the figures of the pages. An engine measures them: `npm run bench -- disk`. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { DOCUMENT_SIZES, documentSizesOf, MEAN_DOCUMENT } from '../../lib/model/document-sizes.ts'
import { DEFAULT_MIX, meanOf } from '../../lib/model/load.ts'
import { SAMPLE_SIZES } from '../../lib/model/sample-sizes.ts'
import { searchLoadOf } from '../../lib/model/search-load.ts'
import { DOMAIN_SIZES } from '../../lib/settings/domain-sizes.ts'
import { readData } from '../fixtures/count-synthea.ts'

const PAGE = readFileSync('lib/docs/cost.md', 'utf8').replaceAll(/\s+/g, ' ')

describe('Sizes of documents', () => {
  it('are of all types of the sample', () => expect(Object.keys(DOCUMENT_SIZES)).toEqual(Object.keys(SAMPLE_SIZES)))

  it.each(['merged', 'unmerged'] as const)('have the mean of the sample: %s', (when) => {
    const { all } = readData('test/fixtures/sample')
    const mean = all.reduce((sum, { resourceType }) => sum + documentSizesOf(resourceType)[when], 0) / all.length
    // The sizes are rounded.
    expect(Math.abs(mean / MEAN_DOCUMENT[when] - 1)).toBeLessThan(0.01)
  })

  it('are those of the pages', () => {
    const { merged, unmerged } = DOCUMENT_SIZES.Observation!
    const mean = [MEAN_DOCUMENT.merged, MEAN_DOCUMENT.unmerged.toLocaleString('en')]
    expect(PAGE).toContain(`takes ${mean[0]} bytes of each copy after merges, and ${mean[1]} bytes before`)
    expect(PAGE).toContain(`an Observation takes ${merged} and ${unmerged.toLocaleString('en')} bytes`)
    expect(readFileSync('test/bench/README.md', 'utf8')).toContain(`| ${mean[0]} bytes after merges | ${mean[1]} before;`)
  })

  it('give the number of documents of the page for each domain', () => {
    const bytes = meanOf(DEFAULT_MIX, (type) => documentSizesOf(type).merged)
    const millions = (gigabytes: number, copies: number): string =>
      Number(((gigabytes * 0.75 * 1_000) / 2 / copies / bytes).toPrecision(2)).toString()
    const { demo, production } = DOMAIN_SIZES
    expect(PAGE).toContain(`${demo.disk} GB hold ${millions(demo.disk, 1)} million documents`)
    expect(PAGE).toContain(`${production.disk} GB with a replica hold ${millions(production.disk * production.count, 2)} million`)
  })

  it('are weighted by the types of the mix', () => {
    const needed = (type: string): number =>
      searchLoadOf({ resources: 1e9, writes: 100, reads: 0, searches: 0, mix: { ...DEFAULT_MIX, types: { [type]: 1 } } }).needed
    const [observation, immunization] = [needed('Observation'), needed('Immunization')]
    expect(observation / immunization).toBeCloseTo(DOCUMENT_SIZES.Observation!.merged / DOCUMENT_SIZES.Immunization!.merged)
    expect(needed('Basic') / immunization).toBeCloseTo(MEAN_DOCUMENT.merged / DOCUMENT_SIZES.Immunization!.merged)
  })
})
