// Loader: reads what a term begins with into its engine, page by page, and again what failed.
// Used on the node's thread; gone when the term is.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/flow.h"
#include "engine/engine.h"
#include "node/home.h"
#include "store/store.h"

namespace takt::internal {

class Loader {
  public:
    struct Events {
        // Everything is read, up to this serial. Ends the loader's use.
        std::function<void(std::unique_ptr<Engine> engine, Serial last_serial)> on_loaded;
        // The store has given no page for too long: another node may fare better. Or a copy into it
        // was not finished, and nobody may lead.
        std::function<void(const std::string& why)> on_stuck;
    };

    Loader(Runtime& runtime, Store& store, Partition partition, Duration give_up_after,
           std::unique_ptr<Engine> engine, Events events);

    void Start() { Launch(LoadPages()); }

  private:
    Flow<> LoadPages();
    void Restore(LoadPage& page);

    Store& store_;
    const Partition partition_;
    const Duration give_up_after_;
    const Events events_;
    std::unique_ptr<Engine> engine_;
    Serial last_serial_ = 0;
    Home home_;
};

}  // namespace takt::internal
