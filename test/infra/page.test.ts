/** What lib/README.md tells operators, against what they can set and run. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { settingsOf } from '../../lib/settings/settings.ts'

const PAGE = readFileSync('lib/README.md', 'utf8')

it('the settings it shows are some', () => {
  const shown = [...PAGE.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
  expect(shown).toHaveLength(3)
  for (const text of shown) {
    const given = JSON.parse(text.startsWith('{') ? text : `{${text}}`)
    expect(settingsOf(given)).toMatchObject(given)
  }
})

it('every setting in its texts is one', () => {
  const named = [...PAGE.matchAll(/set `"(\w+)"`|settings say `"(\w+)":/g)].map(([, set, said]) => set ?? said!)
  expect(named.toSorted()).toEqual(['exportLinkKey', 'originSecret'])
  for (const name of named) expect(() => settingsOf({ [name]: 2 })).not.toThrow()
})

it.each(['client', 'user', 'keys', 'package'])('%s takes a stage, as it says', (command) => {
  const [, told = ''] = /^(.*) take `--stage dev`/m.exec(PAGE)!
  expect(told).toContain(`\`${command}\``)
  expect(spawnSync(process.execPath, ['bin/fhir.js', command, 'list', '--help'], { encoding: 'utf8' }).stdout).toContain('--stage <name>')
})

it('what the CDK is asked by hand names the stage, whose settings it needs, or the account and region', () => {
  const asked = [...PAGE.matchAll(/`npx cdk ([^`]+)`/g)].map(([, command]) => command!)
  expect(asked.toSorted()).toEqual(['bootstrap aws://ACCOUNT/REGION', 'destroy fhir-STAGE-service -c stage=STAGE'])
})
