/** An app asks for all Conditions and Observations, and the user leaves it some categories of them. */
import { expect } from '@jest/globals'
import { FLOWS, type Flow, STANDALONE_SCOPES } from './flows.ts'
import { authorizationRequestOf, type KitRow, openAuthorizePage, runLaunch, type Site } from './kit.ts'
import { CATEGORIES } from './record.ts'

const WHOLE = ['patient/Condition.rs', 'patient/Observation.rs']
const flow: Flow = { ...FLOWS['standalone, ES384'], scope: [STANDALONE_SCOPES, ...WHOLE, 'patient/Patient.rs'].join(' ') }

/** What must be there to be chosen, by the names the rule has for it. */
const OFFERED: Readonly<Record<string, string>> = {
  'Encounter Diagnosis': `patient/Condition.rs?category=${CATEGORIES.encounterDiagnosis}`,
  'Problem List': `patient/Condition.rs?category=${CATEGORIES.problem}`,
  'Health Concern': `patient/Condition.rs?category=${CATEGORIES.concern}`,
  'Clinical Test':
    'patient/Observation.rs?category=http://terminology.hl7.org/CodeSystem/observation-category|procedure,http://hl7.org/fhir/us/core/CodeSystem/us-core-observation-category|clinical-test',
  Laboratory: `patient/Observation.rs?category=${CATEGORIES.laboratory}`,
  'Social History': `patient/Observation.rs?category=${CATEGORIES.social}`,
  SDOH: `patient/Observation.rs?category=${CATEGORIES.sdoh}`,
  Survey: `patient/Observation.rs?category=${CATEGORIES.survey}`,
  'Vital Signs': `patient/Observation.rs?category=${CATEGORIES.vital}`,
}
const CHOSEN = [OFFERED['Problem List']!, OFFERED['Vital Signs']!, OFFERED.Survey!]

const chosen = new WeakMap<Site, ReturnType<typeof runLaunch>>()

/** Once, by whichever row comes first. */
async function tokenOf(site: Site) {
  const launched = chosen.get(site) ?? runLaunch(site, flow, { prompt: 'consent' }, { without: WHOLE, ticked: CHOSEN })
  chosen.set(site, launched)
  return (await launched).token.body
}
const scopesOf = async (site: Site): Promise<readonly string[]> => (await tokenOf(site)).scope.split(' ')

const BY = 'g10/g10_smart_granular_scope_selection'

export const SELECTION: readonly KitRow[] = [
  ...Object.entries(OFFERED).map(
    ([name, scope]): KitRow => [
      BY,
      `${name} can be chosen instead of the whole`,
      async (site) => {
        const { asked } = await authorizationRequestOf(site, flow, { prompt: 'consent' })
        expect((await openAuthorizePage(site, flow, asked)).text).toContain(`name="keep" value="${scope}"`)
      },
    ],
  ),
  ...WHOLE.flatMap((whole): readonly KitRow[] => [
    [BY, `${whole} is not granted as a whole`, async (site) => expect(await scopesOf(site)).not.toContain(whole)],
    [
      BY,
      `of ${whole} what was chosen is granted`,
      async (site) =>
        expect((await scopesOf(site)).filter((scope) => scope.startsWith(`${whole}?`))).toEqual(
          CHOSEN.filter((scope) => scope.startsWith(whole)),
        ),
    ],
  ]),
  [BY, 'patient/Patient.rs is granted', async (site) => expect(await scopesOf(site)).toContain('patient/Patient.rs')],
  [
    'g10/g10_smart_scopes',
    'beside what was chosen all other scopes are granted',
    async (site) => expect(await scopesOf(site)).toEqual(expect.arrayContaining(STANDALONE_SCOPES.split(' '))),
  ],
  [
    BY,
    'the token opens what was chosen, and nothing else',
    async (site) => {
      const { access_token } = await tokenOf(site)
      const paths = ['Condition/problem', 'Condition/concern', 'Observation/pulse', 'Observation/asked', 'Observation/potassium']
      expect(await Promise.all(paths.map(async (path) => (await site.get(path, access_token)).status))).toEqual([200, 404, 200, 200, 404])
    },
  ],
  [
    BY,
    'who chose is not asked again, and the choice stays',
    async (site) => {
      const { scope } = await tokenOf(site)
      expect((await runLaunch(site, flow)).token.body.scope).toBe(scope)
    },
  ],
]
