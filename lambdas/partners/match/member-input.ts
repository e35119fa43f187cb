/**
 * Reads what a partner sends about one member. https://hl7.org/fhir/us/davinci-hrex/OperationDefinition-member-match.html
 */
import { FhirError, fhirError, type Issue } from '../../fhir/outcome.ts'
import { type Element, isElement, isResource, type Resource } from '../../fhir/resource.ts'
import { BIRTH_SEX, MEMBER_NUMBER } from '../codes.ts'
import { hasCode, identifierOf, itemsOf, textOf, textsOf } from '../elements.ts'
import { birthSexOf, type Card, genderOf, namesOf, type SentPerson } from './match-rules.ts'

/** Resource that was sent, and its FHIRPath in the body of the request. */
export type SentResource = { readonly resource: Resource; readonly place: string }

/** Parts of a request for one member. */
export type MemberParts = {
  readonly patient: SentResource
  readonly coverage: SentResource
  readonly coverageToLink?: SentResource
  readonly consent?: SentResource
}

/** Parts of a request, and the person to find. `ignored`: notices about repetitions that are not compared. */
export type MemberInput = MemberParts & { readonly person: SentPerson; readonly ignored: readonly Issue[] }

export type InputOptions = {
  /** Whether a Consent is required, as between payers. */
  readonly needsConsent: boolean
  /** Returns the violations of R4 in a resource. */
  readonly structureIssuesOf: (resource: Resource) => readonly Issue[] | Promise<readonly Issue[]>
}

/** Parameters by name, with the type of the resource. */
const TYPES = { MemberPatient: 'Patient', CoverageToMatch: 'Coverage', CoverageToLink: 'Coverage', Consent: 'Consent' } as const
type PartName = keyof typeof TYPES

/** Maximum names, and identifiers on a card, that are compared. */
const MAX_NAMES = 20
const MAX_IDENTIFIERS = 50
/**
 * Maximum characters of the names that are compared, in total. Longer names would delay other requests, because folding turns one character
 * into up to 18.
 */
const MAX_NAME_CHARACTERS = 12_000

const DAY = /^\d{4}-\d\d-\d\d$/

/**
 * Returns the input of `$member-match`. Throws FhirError 400 with the place if a parameter is missing, repeated, unknown or no valid
 * resource of its type, or if an element is missing that the match compares.
 */
export async function memberInputOf(body: Resource | undefined, options: InputOptions): Promise<MemberInput> {
  if (body?.resourceType !== 'Parameters')
    throw fhirError(400, 'structure', 'The body must be a Parameters resource with MemberPatient and CoverageToMatch')
  const entries = Array.isArray(body.parameter) ? body.parameter : []
  const issues = await options.structureIssuesOf({ ...body, ...(entries.length === 0 ? {} : { parameter: entries.map(withoutResource) }) })
  if (issues.length > 0) throw new FhirError(400, issues)
  const parts = await memberPartsOf(entries, 'Parameters.parameter', options)
  return { ...parts, ...sentPersonOf(parts) }
}

/** Valid placeholder for a resource inside the Parameters: `memberPartsOf` checks the resource itself. */
const ANY_RESOURCE: Resource = { resourceType: 'Parameters' }

export const withoutResource = (entry: unknown): unknown =>
  isElement(entry) && isElement(entry.resource) ? { ...entry, resource: ANY_RESOURCE } : entry

/** Returns the parts of one member. `place`: FHIRPath of the list `entries`, whose entries are valid without their resources. */
export async function memberPartsOf(
  entries: readonly unknown[],
  place: string,
  { needsConsent, structureIssuesOf }: InputOptions,
): Promise<MemberParts> {
  const found = new Map<PartName, SentResource>()
  for (const [i, entry] of entries.entries()) {
    const { name, part } = partOf(entry as Element, `${place}[${i}]`)
    if (found.has(name)) throw fhirError(400, 'duplicate', `The parameter ${name} is sent twice`, `${place}[${i}]`)
    found.set(name, part)
  }
  const required: readonly PartName[] = ['MemberPatient', 'CoverageToMatch', ...(needsConsent ? (['Consent'] as const) : [])]
  const missing = required.filter((name) => !found.has(name))
  if (missing.length > 0)
    throw new FhirError(
      400,
      missing.map((name) => missingIssue(`The parameter ${name} is missing`, place)),
    )
  for (const part of found.values()) await checkStructure(part, structureIssuesOf)
  const coverageToLink = found.get('CoverageToLink')
  const consent = found.get('Consent')
  return {
    patient: found.get('MemberPatient')!,
    coverage: found.get('CoverageToMatch')!,
    ...(coverageToLink === undefined ? {} : { coverageToLink }),
    ...(consent === undefined ? {} : { consent }),
  }
}

function partOf(entry: Element, place: string): { readonly name: PartName; readonly part: SentResource } {
  const name = String(entry.name)
  if (!isPartName(name)) {
    const known = Object.keys(TYPES).join(', ')
    throw fhirError(400, 'not-supported', `${name.slice(0, 64)} is not a parameter of this operation. It accepts ${known}`, place)
  }
  const { resource } = entry
  if (!isResource(resource) || resource.resourceType !== TYPES[name])
    throw fhirError(400, 'structure', `The parameter ${name} must be a ${TYPES[name]} in \`resource\``, place)
  return { name, part: { resource, place: `${place}.resource` } }
}

const isPartName = (name: string): name is PartName => Object.hasOwn(TYPES, name)

async function checkStructure({ resource, place }: SentResource, structureIssuesOf: InputOptions['structureIssuesOf']): Promise<void> {
  const issues = await structureIssuesOf(resource)
  if (issues.length === 0) return
  const { length } = resource.resourceType
  throw new FhirError(
    400,
    issues.map((issue) => (issue.expression === undefined ? issue : { ...issue, expression: place + issue.expression.slice(length) })),
  )
}

const missingIssue = (text: string, expression: string): Issue => ({ severity: 'error', code: 'required', text, expression })

/**
 * Returns the person to find. Throws FhirError 400 that names every missing element: family, given name, date of birth with a day, gender or
 * birth sex, and the number of the card.
 */
export function sentPersonOf({ patient, coverage }: MemberParts): Pick<MemberInput, 'person' | 'ignored'> {
  const { resource, place } = patient
  const { list: sentNames, ignored: names } = sentNamesOf(resource, `${place}.name`)
  const { card, ignored: identifiers } = sentCardOf(coverage, patient)
  const compared = namesOf({ ...resource, name: sentNames })
  const birthDate = textOf(resource.birthDate) ?? ''
  const missing = [
    ...(compared.length > 0
      ? []
      : [
          missingIssue(
            `A name with a family and a given name, both with letters or digits, is required. It has at most ${MAX_NAME_CHARACTERS} characters`,
            `${place}.name`,
          ),
        ]),
    ...(DAY.test(birthDate) ? [] : [missingIssue('A date of birth with year, month and day is required', `${place}.birthDate`)]),
    ...(hasSex(resource) ? [] : [missingIssue(`A gender, or the extension ${BIRTH_SEX}, is required`, `${place}.gender`)]),
    ...(card.identifiers.length > 0 || card.subscriberId !== undefined
      ? []
      : [missingIssue('The number of the card is required: an identifier of type MB, or a subscriberId', coverage.place)]),
  ]
  if (missing.length > 0) throw new FhirError(400, missing)
  const gender = genderOf(resource)
  const birthSex = birthSexOf(resource)
  return {
    person: {
      names: compared,
      birthDate,
      card,
      ...(gender === undefined ? {} : { gender }),
      ...(birthSex === undefined ? {} : { birthSex }),
    },
    ignored: [...names, ...identifiers],
  }
}

/** Whether a gender or birth sex was sent, even if it says that it is unknown. */
const hasSex = ({ gender, extension }: Resource): boolean =>
  textOf(gender) !== undefined || itemsOf(extension).some(({ url }) => url === BIRTH_SEX)

/** Returns the names that are compared, each with its first given name only. Omits the names beyond the maximum of characters. */
function sentNamesOf({ name }: Resource, place: string): FirstItems {
  const { list, ignored } = firstOf(name, MAX_NAMES, place)
  const names: Element[] = []
  let left = MAX_NAME_CHARACTERS
  for (const each of list) {
    const given = textsOf(each.given).slice(0, 1)
    left -= [textOf(each.family) ?? '', ...given].join('').length
    // guard: long-names-are-not-folded
    if (left < 0) break
    names.push({ ...each, given })
  }
  if (names.length === list.length) return { list: names, ignored }
  const text = `The names are compared up to ${MAX_NAME_CHARACTERS} characters in total, and the others are ignored`
  return { list: names, ignored: [...ignored, informationOf(text, place)] }
}

function sentCardOf(coverage: SentResource, patient: SentResource): { readonly card: Card; readonly ignored: readonly Issue[] } {
  const { resource, place } = coverage
  const own = firstOf(resource.identifier, MAX_IDENTIFIERS, `${place}.identifier`)
  const others = firstOf(patient.resource.identifier, MAX_IDENTIFIERS, `${patient.place}.identifier`)
  const subscriberId = textOf(resource.subscriberId)
  const dependent = textOf(resource.dependent)
  return {
    card: {
      identifiers: own.list.filter(({ type }) => type === undefined || hasCode(type, MEMBER_NUMBER)).flatMap(identifierOf),
      memberIdentifiers: [...own.list, ...others.list]
        .filter(({ type, system }) => textOf(system) !== undefined && hasCode(type, MEMBER_NUMBER))
        .flatMap(identifierOf),
      ...(subscriberId === undefined ? {} : { subscriberId }),
      ...(dependent === undefined ? {} : { dependent }),
    },
    ignored: [...own.ignored, ...others.ignored],
  }
}

type FirstItems = { readonly list: readonly Element[]; readonly ignored: readonly Issue[] }

function firstOf(value: unknown, limit: number, place: string): FirstItems {
  const list = itemsOf(value)
  if (list.length <= limit) return { list, ignored: [] }
  const text = `The first ${limit} are compared, and ${list.length - limit} are ignored`
  return { list: list.slice(0, limit), ignored: [informationOf(text, place)] }
}

const informationOf = (text: string, expression: string): Issue => ({ severity: 'information', code: 'informational', text, expression })
