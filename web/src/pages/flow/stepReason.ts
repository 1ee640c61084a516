// Why a step was skipped or failed as a whole, in the reader's language. The server says it in words; those
// that it is known to use have a text, others are shown as they are.
import type { TextKey, Translate } from '../../i18n';

const known: [RegExp, TextKey][] = [
    [/^its if does not hold$/, 'flow.reason.if'],
    [/^its list is empty$/, 'flow.reason.empty'],
    [/^another step failed$/, 'flow.reason.otherFailed'],
    [/^the run was ended$/, 'flow.reason.runEnded'],
    [/^the run did not begin$/, 'flow.reason.notBegun'],
    [/^no step before it failed$/, 'flow.reason.noneFailed'],
    [/^step '(.*)' did not succeed$/, 'flow.reason.stepFailed'],
    [/^step '(.*)' was skipped$/, 'flow.reason.stepSkipped'],
];

export function stepReason(said: string, t: Translate): string {
    for (const [pattern, key] of known) {
        const found = pattern.exec(said);
        if (found) return t(key, { step: found[1] ?? '' });
    }
    return said;
}
