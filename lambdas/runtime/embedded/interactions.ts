/** Interactions of the embedded server. It must implement all of the catalogue: a missing one does not compile. */
import type { InteractionCode } from '../../catalogue/catalogue.ts'
import { bundle } from '../../interactions/bundle/bundle.ts'
import type { EntryRunner } from '../../interactions/bundle/entry.ts'
import { entryInteractions } from '../../interactions/bundle/entry-interactions.ts'
import { cancelExport } from '../../interactions/export/cancel.ts'
import { exportFile, responseWithFile } from '../../interactions/export/file.ts'
import { startExport } from '../../interactions/export/kick-off.ts'
import { listExports } from '../../interactions/export/list.ts'
import { partnerFile } from '../../interactions/export/partner-file.ts'
import { type PartnerKickOffPorts, startPartnerExport } from '../../interactions/export/partner-kick-off.ts'
import { exportStatus } from '../../interactions/export/status.ts'
import type { Interaction, Ports, RequestWriter } from '../../interactions/interaction.ts'
import { applyFhirPath } from '../../interactions/operations/apply-fhirpath.ts'
import { startBulkMatch } from '../../interactions/operations/bulk-match.ts'
import { docref } from '../../interactions/operations/docref.ts'
import { everything } from '../../interactions/operations/everything.ts'
import { levelMatch } from '../../interactions/operations/level-match.ts'
import { type MatchChoices, memberMatch } from '../../interactions/operations/member-match.ts'
import { meta } from '../../interactions/operations/meta.ts'
import { recordedMatch } from '../../interactions/operations/recorded-match.ts'
import { reindexStatus, startReindex } from '../../interactions/operations/reindex.ts'
import { validate } from '../../interactions/operations/validate.ts'
import { fullValidator } from '../../interactions/validation/full-validation.ts'
import type { ProfileParts } from '../../interactions/validation/profile-findings.ts'
import type { Exports } from './exports.ts'

/** Ports of the embedded server. `checker`: writer that applies the checks of a write and stores nothing. */
export type EmbeddedPorts = Ports &
  Pick<PartnerKickOffPorts, 'clients' | 'choices' | 'basisProfiles'> & { readonly choices: MatchChoices } & Pick<
    ProfileParts,
    'conformance' | 'toldOfDefinition'
  > & { readonly checker: RequestWriter }

/** Returns the handlers of all interactions. `runnerOf`: returns the runner of Bundle entries, which may request the given interactions. */
export function interactionsOf(
  ports: EmbeddedPorts & Pick<Exports, 'exports' | 'links' | 'disclosures' | 'matchLimits'>,
  runnerOf: (interactions: Readonly<Partial<Record<InteractionCode, Interaction>>>) => EntryRunner,
): Readonly<Record<InteractionCode, Interaction>> {
  const entries = entryInteractions(ports)
  const validated = fullValidator(ports)
  return {
    ...entries,
    bundle: bundle(ports, runnerOf(entries)),
    reindex: startReindex(ports),
    'reindex-status': reindexStatus(ports),
    meta: meta(ports),
    validate: validate({ ...ports, validated }),
    'apply-fhirpath': applyFhirPath({ ...ports, validated }),
    everything: everything(ports),
    docref: docref(ports),
    'member-match': levelMatch(recordedMatch(memberMatch(ports), { disclosures: ports.disclosures, clock: ports.clock })),
    'bulk-member-match': startBulkMatch(ports, 'payer'),
    'provider-member-match': startBulkMatch(ports, 'provider'),
    export: startExport(ports),
    'export-for-partner': startPartnerExport(ports),
    'export-list': listExports(ports),
    'export-status': exportStatus(ports),
    'export-cancel': cancelExport(ports),
    'export-file': exportFile(ports),
    'export-file-for-partner': partnerFile(ports, responseWithFile(ports.exports.blobs)),
  }
}
