/** The commands of the page for payers work as printed: from an empty folder to the file of a partner. */
import { readFileSync } from 'node:fs'
import { expect } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { isProgramUsable, itRequiring } from '../fixtures/needing.ts'
import { servePackages } from '../fixtures/package-registry.ts'
import { blockOf } from '../fixtures/pages.ts'
import { guideOf } from '../fixtures/payer/guides.ts'
import { amountsOf } from '../partners/payer-exchange.ts'
import { pageShellOf } from './page-shell.ts'
import { startTokenServerWithSettings } from './process.ts'

const linesOf = (text: string) => text.trim().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line

const MEMBERS = linesOf(readFileSync('test/fixtures/payer/exchange/members.ndjson', 'utf8'))

/** Returns the settings that the command of a page sets before `npm start`. */
const settingsOf = (command: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...command.matchAll(/\b(FHIR_\w+)=(?:'([^']*)'|(\S*))/g)].map(([, name, quoted, plain]) => [name!, quoted ?? plain!]))

/** Returns the files of packages as a registry serves them. */
function registeredGuides(...labels: readonly string[]): Parameters<typeof servePackages>[0] {
  const guides = labels.map(guideOf).map(({ manifest, resources }) => {
    const files = resources.map((each) => [`package/${each.resourceType}-${each.id}.json`, each] as const)
    return [manifest.name, { [manifest.version]: { 'package/package.json': manifest, ...Object.fromEntries(files) } }] as const
  })
  return Object.fromEntries(guides)
}

itRequiring('curl', isProgramUsable('curl', '--version'))('a partner receives a claim without amounts after ten commands', async () => {
  const [start, ...more] = blockOf('npm ci --omit=dev && FHIR_PAYER=')
  const [operator, partner] = [
    blockOf('npm run -s fhir -- package add hl7.fhir.us.carin-bb'),
    blockOf('TOKEN=$(npm run -s fhir -- token --client '),
  ]
  expect([more, 1 + operator.length + partner.length]).toEqual([[], 10])

  const [data, folder] = [newFolder(), newFolder()]
  const server = await startTokenServerWithSettings(settingsOf(start!), '--data', data)
  const shell = pageShellOf(server, data)
  const printed = (lines: readonly string[], variables = {}) =>
    shell(lines.map((line) => line.replaceAll('other-payer.json', `${folder}/other-payer.json`)), '', variables) // biome-ignore format: one line
  const added = await printed(operator, {
    FHIR_PACKAGE_REGISTRY: await servePackages(registeredGuides('carin-bb@2.2.0', 'davinci-pdex@2.2.0')),
  })
  expect(added.match(/^\S+ \S+ is added|^\d+ resources of 1 file loaded|^The partner .*/gm)).toEqual([
    'hl7.fhir.us.carin-bb 2.2.0 is added',
    'hl7.fhir.us.davinci-pdex 2.2.0 is added',
    `${MEMBERS.length} resources of 1 file loaded`,
    'The partner other-payer is registered as a payer',
  ])
  const [matched, ...exported] = linesOf((await printed(partner.flatMap((line) => [line, 'echo']))).replaceAll(/\n+/g, '\n'))
  expect(matched.parameter[0].valueIdentifier.value).toBe('1234-234-1243-12345678901')
  const stored = MEMBERS.find(({ id }) => id === 'EOBProfessionalTransportation1')
  expect(exported.map(({ resourceType, id }) => `${resourceType}/${id}`)).toEqual([`ExplanationOfBenefit/${stored.id}`])
  expect([amountsOf(stored).length > 0, amountsOf(exported[0])]).toEqual([true, []])

  const inText = [...readFileSync('lambdas/docs/payer.md', 'utf8').matchAll(/`((?:curl|npm run) [^`]*)`/g)].map(([, command]) => command!)
  const [refused, token, ...others] = (await printed([partner[0]!, ...inText.flatMap((line) => [line, 'echo'])])).split(/\n+/)
  expect([inText.length, JSON.parse(refused!).issue[0].code]).toEqual([4, 'forbidden'])
  expect(JSON.parse(Buffer.from(token!.split('.')[1]!, 'base64url').toString())).toMatchObject({ patient: 'Patient1', partner: 'payer' })
  expect(others.join('\n')).toMatch(/^AT .*\n.* (?:match|export) .* Patient\/Patient1 [\s\S]*The partner other-payer is removed/)
  await server.stop()
})
