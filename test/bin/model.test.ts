/** `npm run model`: its output, its exit codes, and input that it refuses. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { settingsOf } from '../../lib/settings/settings.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { blockOf } from '../fixtures/pages.ts'

function model(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'bin/model.ts', ...args], {
    encoding: 'utf8',
  })
  return { code: status, out: stdout, err: stderr }
}

const argumentsOf = (resources: string, writes: string, reads: string, searches: string): readonly string[] => [
  ...['--resources', resources, '--writes', writes, '--reads', reads, '--searches', searches],
]

const mixFile = (text: string): string => {
  const file = join(newFolder(), 'mix.json')
  writeFileSync(file, text)
  return file
}

describe('npm run model', () => {
  it('exits with 0 if the load fits', () => {
    const { code, out, err } = model(...argumentsOf('1_000_000', '5', '20', '5'))
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^1,000,000 resources, 5 writes, 20 reads and 5 searches per second$/m)
    expect(out).toMatch(/^Settings: write these into .fhir\/STAGE.settings.json\n\{\}$/m)
    expect(out).toMatch(/^This load fits\.$/m)
    expect(out).not.toContain('does not fit')
  })

  it('exits with 1 if the load does not fit', () => {
    const { code, out, err } = model(...argumentsOf('4e9', '5', '20', '5'))
    expect([code, err]).toEqual([1, ''])
    expect(out).toMatch(/does not fit\n/)
    expect(out).toMatch(/^This load does not fit\.$/m)
  })

  it('prints settings for a billion resources', () => {
    const [command = ''] = blockOf('npm run -s model -- ')
    const { code, out, err } = model(...command.replace('npm run -s model -- ', '').split(' '))
    expect([code, err]).toEqual([0, ''])
    const lines = [
      /^ {2}resource table +14,106 write, 18,333 read units per second$/m,
      /^ {2}index partitions +20 for Observation; 4 for Claim, /m,
      /^ {2}stored +1,390 GB of JSON: 1,239 GB in the table, 381 GB in its index$/m,
      /^ {2}stream +124 shards$/m,
      /^ {2}concurrency +create 134, update 84, read 40, search 20, indexer 124, rebuild-step 32, export-step 100$/m,
      /^ {2}export of everything +3\.8 hours, \$\d+ without downloads: 20 minutes to plan, 26 files$/m,
      /^ {2}search domain +large, 6 × r7g\.2xlarge\.search with 600 GB, 3 masters r7g\.large\.search: 2,692 GB needed /m,
      /^ {2}search shards +15 for Observation; 1 for Claim, /m,
      /^ {2}rebuild of all types +\d\d hours, \$\d+: \d+ minutes to plan, executions of at most [\d,]+ events: 5$/m,
      /^ +29 +30 +97 % {2}GB of a shard of the OpenSearch index of Observation, one of 15 +fits$/m,
      /^ +2,692 +3,600 +75 % {2}GB of disks of the search domain +fits$/m,
      /^ +15,500 +10,000 +155 % {2}requests per second at API Gateway +request a higher quota$/m,
      /^ +17,700 +40,000 +44 % {2}write units of the resource table, warm +fits$/m,
      /^ {2}all +\$2\d\d,\d{3}$/m,
      /^This load fits\.$/m,
    ]
    for (const line of lines) expect(out).toMatch(line)
    const printed = JSON.parse(/^\{\n[\s\S]*?^\}$/m.exec(out)![0])
    expect(settingsOf(printed)).toMatchObject({
      search: { size: 'large', shards: { Observation: 15 } },
      capacity: { shards: { Observation: 20 } },
      rebuildWidth: 32,
    })
  })

  it('reads a mix', () => {
    const file = mixFile('{ "creates": 1, "types": { "Basic": 1 } }')
    const { code, out } = model(...argumentsOf('1e6', '5000', '0', '0'), '--mix', file)
    expect([code, /^ {2}index partitions +9 for Basic$/m.test(out)]).toEqual([0, true])
  })

  it.each<[string, readonly string[], string]>([
    ['no rate', ['--resources', '1e6'], "required option '--writes <rate>' not specified"],
    ['a word', argumentsOf('many', '1', '1', '1'), "option '--resources <count>' argument 'many' is invalid. Write the number as"],
    ['a negative rate', argumentsOf('1', '-1', '1', '1'), "option '--writes <rate>' argument '-1' is invalid"],
    [
      'a large rate',
      argumentsOf('1', '1', '1e8', '1'),
      "option '--reads <rate>' argument '1e8' is invalid. The number must be at most 10000000.",
    ],
    [
      'no resources',
      argumentsOf('0', '1', '1', '1'),
      "option '--resources <count>' argument '0' is invalid. The number must be from 1 to 100000000000.",
    ],
    ['a misplaced separator', argumentsOf('1', '1', '1', '1__0'), "option '--searches <rate>' argument '1__0' is invalid"],
  ])('refuses %s', (_, args, message) => {
    const { code, out, err } = model(...args)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(message)
  })

  it.each([
    ['{ "types": { "Observation": 0.5 } }', 'the shares in types add up to 0.5, but must add up to 1.'],
    ['{ "types": { "Lab": 1 } }', 'types.Lab is not a resource type of R4.'],
    ['{', 'JSON'],
  ])('refuses the mix %s', (text, message) => {
    const file = mixFile(text)
    const { code, err } = model(...argumentsOf('1', '1', '1', '1'), '--mix', file)
    expect([code, err]).toEqual([1, expect.stringContaining(`option '--mix <file>' argument '${file}' is invalid. ${file}: `)])
    expect(err).toContain(message)
  })
})
