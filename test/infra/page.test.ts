/** The pages of lib/docs, compared with the settings and commands that exist. */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { settingsOf } from '../../lib/settings/settings.ts'

const PAGE = globSync('lib/docs/*.md')
  .map((page) => readFileSync(page, 'utf8'))
  .join('\n')

it('the settings that the pages show are valid', () => {
  // The other block is the mix of a load, for `npm run model`.
  const blocks = [...PAGE.matchAll(/^```json\n([\s\S]*?)^```$/gm)]
    .map(([, text]) => text!)
    .filter((text) => !text.startsWith('{ "creates"'))
  expect(blocks).toHaveLength(4)
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

it('the pages state the permissions of each command that takes a stage', () => {
  const helpOf = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['bin/fhir.js', ...args, '--help'], { encoding: 'utf8' }).stdout
  const namesIn = (help: string) => [...help.matchAll(/^ {2}([a-z-]+) (?:\[|<| )/gm)].map(([, name]) => name!)
  const commands = namesIn(helpOf()).filter((name) => name !== 'help')
  const takesStage = (command: string) => [helpOf(command), helpOf(command, 'list')].some((help) => help.includes('--stage <name>'))
  const [, rows = ''] = /^\| command \| permissions \|\n\|---\|---\|\n((?:\|.*\n)+)/m.exec(PAGE)!
  const listed = [...rows.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name!))
  expect(commands).toContain('accept-clock')
  expect(listed.toSorted()).toEqual(commands.filter(takesStage).toSorted())
  const [, inPlaceOfData = ''] = /^(.*) take `--stage dev`/m.exec(PAGE)!
  for (const command of listed.filter((name) => name !== 'redrive')) expect(inPlaceOfData).toContain(`\`${command}\``)
})

it('each page begins with a table of tasks', () => {
  for (const page of globSync('lib/docs/*.md'))
    expect([page, readFileSync(page, 'utf8').split('\n')[2]?.startsWith('| ')]).toEqual([page, true])
})

it('manual CDK commands in the pages name the stage or the account and region', () => {
  const commands = [...PAGE.matchAll(/`npx cdk ([^`]+)`/g)].map(([, command]) => command!)
  expect(commands.toSorted()).toEqual(['bootstrap aws://ACCOUNT/REGION', 'destroy fhir-STAGE-service -c stage=STAGE'])
})
