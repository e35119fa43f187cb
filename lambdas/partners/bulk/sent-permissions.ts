/** Judges the sent permissions to receive data of members: the Consent of a member, or the attestation of a provider. */
import type { Resource } from '../../fhir/resource.ts'
import { type Attestation, attestationFaultOf, partiesOf, readAttestation } from '../consent/attestation.ts'
import { type Directory, findInDirectory, findListedPatients } from '../consent/attestation-directory.ts'
import { consentFaultOf, permissionOf } from '../consent/payer-consent.ts'
import type { PartyIdentifier } from '../elements.ts'
import type { MemberData } from '../member-data.ts'
import type { BrokenRule } from '../outcomes.ts'
import type { MatchContext } from './match-request.ts'

/** Permissions of one match. */
export type SentPermissions = {
  /**
   * Returns the instant until which the sent or stored Consent permits the disclosure, in milliseconds since 1970, or undefined if it does
   * not.
   */
  readonly permittedUntil: (consent: Resource) => number | undefined
  /** Returns the rule that a sent Consent breaks. Call it only if `permittedUntil` returns undefined. */
  readonly brokenRuleOf: (consent: Resource) => BrokenRule | undefined
  /** Returns the providers that the attestation names. Returns none between payers. */
  readonly providersOf: (consent: Resource) => readonly PartyIdentifier[]
  /** Whether the provider of the attestation treats the Patient, as the settings require. True between payers. */
  readonly isTreated: (consent: Resource, patient: string) => boolean
}

/** Reads the stored data for the judgement. `consents`: Consents and attestations that the partner sent. */
export async function sentPermissions(data: MemberData, consents: readonly Resource[], context: MatchContext): Promise<SentPermissions> {
  return context.kind === 'payer' ? payerPermissions(data, context) : providerPermissions(data, consents, context)
}

function payerPermissions({ reading: { timeZone } }: MemberData, { settings, identifiers, now }: MatchContext): SentPermissions {
  const { payer, sensitiveLabels, longest } = settings
  const recipient = identifiers === undefined ? {} : { recipient: identifiers }
  const circumstances = { now, payer, sensitiveLabels, longest, ...recipient, ...(timeZone === undefined ? {} : { timeZone }) }
  return {
    permittedUntil: (consent) => permissionOf(consent, circumstances),
    brokenRuleOf: (consent) => consentFaultOf(consent, circumstances),
    providersOf: () => [],
    isTreated: () => true,
  }
}

async function providerPermissions(data: MemberData, consents: readonly Resource[], context: MatchContext): Promise<SentPermissions> {
  const { settings, identifiers, now } = context
  const { timeZone } = data.reading
  const instant = { now, ...(timeZone === undefined ? {} : { timeZone }) }
  const attestations = consents.flatMap((consent) => readAttestation(consent, instant) ?? [])
  const isOwn = (npi: PartyIdentifier): boolean =>
    identifiers?.some(({ system, value }) => system === npi.system && value === npi.value) ?? true
  const isListed = settings.treatment === 'listed'
  const sought = attestations.filter((each) => isListed || !partiesOf(each).some(isOwn)).flatMap(partiesOf)
  const directory = await findInDirectory(data, sought)
  const listed = isListed ? await listedByNpi(data, directory, attestations, now) : undefined
  return {
    permittedUntil(consent) {
      const attestation = readAttestation(consent, instant)
      // guard: attestation-of-known-provider
      if (attestation === undefined || !partiesOf(attestation).some((npi) => isOwn(npi) || directory.has(npi.value))) return undefined
      return Math.min(attestation.until ?? Number.POSITIVE_INFINITY, now + settings.longest)
    },
    brokenRuleOf: (consent) => attestationFaultOf(consent, instant) ?? 'unknown-provider',
    providersOf(consent) {
      const attestation = readAttestation(consent, instant)
      return attestation === undefined ? [] : partiesOf(attestation)
    },
    isTreated(consent, patient) {
      if (listed === undefined) return true
      const providers = readAttestation(consent, instant)?.providers ?? []
      return providers.some(({ value }) => listed.get(value)?.has(`Patient/${patient}`))
    },
  }
}

/** Returns the Patients that each provider treats by the Groups of the payer. */
async function listedByNpi(
  data: MemberData,
  directory: Directory,
  attestations: readonly Attestation[],
  now: number,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const listed = new Map<string, ReadonlySet<string>>()
  for (const { value } of attestations.flatMap(({ providers }) => providers))
    if (!listed.has(value)) listed.set(value, await findListedPatients(data, [...(directory.get(value) ?? [])], now))
  return listed
}
