#include "tests/simt/block_meetings.hpp"

#include <algorithm>
#include <cstring>

namespace simt {
namespace {

// What a lane reads of one that is not in the mask.
constexpr std::uint64_t undefined_value = 0xcdcdcdcdcdcdcdcd;

std::string text(const Site& site) { return std::string(site.file_name()) + ":" + std::to_string(site.line()); }

bool same(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

std::string name(unsigned thread) { return "thread " + std::to_string(thread); }

}  // namespace

BlockMeetings::BlockMeetings(std::span<Thread* const> threads)
    : threads_(threads),
      count_(static_cast<unsigned>(threads.size())),
      warps_((threads.size() + warp_lanes - 1) / warp_lanes) {
  for (unsigned thread = 0; thread < count_; ++thread) warps_[thread / warp_lanes].lanes |= 1u << thread % warp_lanes;
}

void BlockMeetings::arrive(unsigned thread) {
  switch (threads_[thread]->state) {
    case State::at_barrier:
      return arrive_at_barrier(thread);
    case State::at_collective:
      return arrive_at_collective(thread);
    case State::ended:
      return end(thread);
    case State::ready:
      return;
  }
}

void BlockMeetings::arrive_at_barrier(unsigned thread) {
  Thread& self = *threads_[thread];
  if (ended_ > 0) {
    throw KernelFailure(name(thread) + " waits at the barrier " + text(self.site) + ", to which " + name(last_ended_) +
                        " cannot come: it has ended");
  }
  if (at_barrier_ == 0) barrier_site_ = self.site;
  if (!same(barrier_site_, self.site)) {
    throw KernelFailure("threads of one block meet at different barriers, " + text(barrier_site_) + " and " +
                        text(self.site) + " (" + name(thread) + ")");
  }
  self.fiber.release(&at_barrier_);
  predicates_ += static_cast<unsigned>(self.given);
  if (++at_barrier_ < count_) return;
  for (unsigned i = 0; i < count_; ++i) {
    Thread& other = *threads_[i];
    other.fiber.acquire(&at_barrier_);
    other.block_count = predicates_;
    other.state = State::ready;
  }
  at_barrier_ = 0;
  predicates_ = 0;
}

void BlockMeetings::arrive_at_collective(unsigned thread) {
  Thread& self = *threads_[thread];
  Warp& warp = warps_[thread / warp_lanes];
  const unsigned first = thread - thread % warp_lanes;
  const unsigned own = 1u << thread % warp_lanes;
  const auto fail = [&](const std::string& what) {
    throw KernelFailure(name(thread) + " at the collective " + text(self.site) + " " + what);
  };
  if ((self.mask & own) == 0) fail("is not in the mask that it gives");
  if ((self.mask & ~warp.lanes) != 0) fail("names lanes that its warp does not have");
  if ((self.mask & warp.ended) != 0) fail("names a lane that has ended");

  Meeting& meeting = warp.meetings[self.mask];
  if (meeting.arrived == 0) meeting.site = self.site;
  if (!same(meeting.site, self.site)) fail("meets lanes of its mask at another, " + text(meeting.site));
  meeting.arrived |= own;
  self.fiber.release(&meeting);
  if (meeting.arrived != self.mask) return;

  meeting.arrived = 0;
  std::array<std::uint64_t, warp_lanes> values;
  values.fill(undefined_value);
  const unsigned mask = self.mask;
  const auto for_lanes = [&](const auto& visit) {
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      if ((mask >> lane & 1) != 0) visit(lane, *threads_[first + lane]);
    }
  };
  for_lanes([&](unsigned lane, Thread& other) { values[lane] = other.given; });
  for_lanes([&](unsigned, Thread& other) {
    other.fiber.acquire(&meeting);
    other.received = values;
    other.state = State::ready;
  });
}

void BlockMeetings::end(unsigned thread) {
  ++ended_;
  last_ended_ = thread;
  Warp& warp = warps_[thread / warp_lanes];
  const unsigned own = 1u << thread % warp_lanes;
  warp.ended |= own;
  for (unsigned other = 0; other < count_ && at_barrier_ > 0; ++other) {
    if (threads_[other]->state == State::at_barrier) {
      throw KernelFailure(name(thread) + " has ended, but " + describe(other));
    }
  }
  for (const auto& [mask, meeting] : warp.meetings) {
    if ((mask & own) != 0 && meeting.arrived != 0) {
      throw KernelFailure(name(thread) + " has ended, but lanes wait for it at the collective " + text(meeting.site));
    }
  }
}

std::string BlockMeetings::describe(unsigned thread) const {
  const Thread& self = *threads_[thread];
  switch (self.state) {
    case State::at_barrier:
      return name(thread) + " waits at the barrier " + text(self.site);
    case State::at_collective:
      return name(thread) + " waits at the collective " + text(self.site);
    default:
      return name(thread) + " has ended";
  }
}

// Names one thread that waits, and one that it waits for.
void BlockMeetings::fail_of_deadlock() const {
  std::string barrier;
  for (unsigned thread = 0; thread < count_; ++thread) {
    const Thread& self = *threads_[thread];
    if (self.state == State::at_barrier) barrier = describe(thread);
    if (self.state != State::at_collective) continue;
    const unsigned missing = self.mask & ~warps_[thread / warp_lanes].meetings.at(self.mask).arrived;
    const unsigned lane = static_cast<unsigned>(__builtin_ctz(missing));
    throw KernelFailure("deadlock: " + describe(thread) + " for lane " + std::to_string(lane) + ", but " +
                        describe(thread - thread % warp_lanes + lane) + (barrier.empty() ? "" : "; " + barrier));
  }
  throw KernelFailure("deadlock: " + barrier);
}

}  // namespace simt
