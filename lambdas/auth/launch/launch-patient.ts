/** Finds the patient of a launch, and checks that patient and encounter of the launch belong together. */
import type { FoundRecord, PatientFinder } from '../endpoint.ts'

export type LaunchPatient = { readonly tenant?: string; readonly patient?: string } | { readonly fault: string }

/**
 * Returns the tenant and the patient of a launch, or the text of a fault. `tenants`: tenants to search. Faults: the record does not exist,
 * several tenants have its id, or the encounter is of another patient. An encounter without a patient in the launch determines the patient.
 */
export async function findLaunchPatient(
  patients: Pick<PatientFinder, 'recordsOf'>,
  tenants: readonly string[],
  { patient, encounter }: { readonly patient?: string; readonly encounter?: string },
): Promise<LaunchPatient> {
  const one = async (type: FoundRecord['type'], id: string): Promise<FoundRecord | { readonly fault: string }> => {
    const [found, ...others] = await patients.recordsOf(tenants, type, id)
    if (found === undefined) return { fault: `There is no ${type}/${id}` }
    return others.length > 0 ? { fault: `Several tenants have ${type}/${id}: say whose it is` } : found
  }
  if (encounter === undefined) return patient === undefined ? {} : one('Patient', patient)
  const found = await one('Encounter', encounter)
  if ('fault' in found || patient === undefined || found.patient === patient) return found
  return { fault: `Encounter/${encounter} is not of Patient/${patient}` }
}
