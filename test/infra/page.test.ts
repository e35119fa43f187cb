/** The pages of lib/docs, compared with the settings and commands that exist. */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { settingsOf } from '../../lib/settings/settings.ts'

const PAGE = globSync('lib/docs/*.md')
  .map((page) => readFileSync(page, 'utf8'))
  .join('\n')

it('the settings that the pages show are valid', () => {
  const blocks = [...PAGE.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
  expect(blocks).toHaveLength(3)
  for (const text of blocks) {
    const settings = JSON.parse(text.startsWith('{') ? text : `{${text}}`)
    expect(settingsOf(settings)).toMatchObject(settings)
  }
})

it('every setting that the pages raise exists', () => {
  const named = [...PAGE.matchAll(/raise `"(\w+)"` by one/g)].map(([, name]) => name!)
  expect(named.toSorted()).toEqual(['exportLinkKey', 'originSecret'])
  for (const name of named) expect(() => settingsOf({ [name]: 2 })).not.toThrow()
})

it.each(['client', 'user', 'keys', 'package'])('the command %s takes a stage, as the pages state', (command) => {
  const [, commandList = ''] = /^(.*) take `--stage dev`/m.exec(PAGE)!
  expect(commandList).toContain(`\`${command}\``)
  expect(spawnSync(process.execPath, ['bin/fhir.js', command, 'list', '--help'], { encoding: 'utf8' }).stdout).toContain('--stage <name>')
})

it('manual CDK commands in the pages name the stage or the account and region', () => {
  const commands = [...PAGE.matchAll(/`npx cdk ([^`]+)`/g)].map(([, command]) => command!)
  expect(commands.toSorted()).toEqual(['bootstrap aws://ACCOUNT/REGION', 'destroy fhir-STAGE-service -c stage=STAGE'])
})
