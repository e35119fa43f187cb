import type { Settings } from '../../lib/settings/settings.ts'

/** Settings of the stage whose bundled functions are tested: with rules for exports, which bundles carry, restored tables, and an archive. */
export const BUNDLED_SETTINGS = {
  access: 'token',
  auditArchiveYears: 6,
  exportAdditionalResources: {
    Observation: [{ allowedForGroupExport: true, allowedForPatientExport: true, path: '$.subject.reference', resourceTypes: ['Location'] }],
  },
  restored: { resources: 'restored-1', epoch: 1, instant: '2031-01-01T03:00:00Z' },
} satisfies Partial<Settings>
