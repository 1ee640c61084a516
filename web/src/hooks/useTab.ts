// Which tab of a page is open. It stands in the address, except the first; an address that names none that there is
// means the first too.
import { useSearchParams } from 'react-router-dom';

export function useTab<Tab extends string>(tabs: readonly [Tab, ...Tab[]]): [Tab, (next: string) => void] {
    const [query, setQuery] = useSearchParams();
    const tab = tabs.find((each) => each === query.get('tab')) ?? tabs[0];
    return [tab, (next) => setQuery(next === tabs[0] ? {} : { tab: next }, { replace: true })];
}
