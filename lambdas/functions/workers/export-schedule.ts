/** Starts exports on the schedules in the settings of the stage, with the access of registered clients. */
import { startScheduledExport } from '../../runtime/aws/export-schedule.ts'

export const handler = startScheduledExport
